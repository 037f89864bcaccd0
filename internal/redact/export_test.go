package redact

// KeyPrefixes returns how the keys of vendors begin.
func KeyPrefixes() (prefixes []string) {
	for _, n := range keyForms() {
		if !n.isBase64 {
			prefixes = append(prefixes, string(n.text))
		}
	}
	return prefixes
}
