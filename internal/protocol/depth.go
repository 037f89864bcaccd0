package protocol

// IsDeeperThan tells whether well-formed ToJSON is nested more than most levels deep.
func IsDeeperThan(text []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // what it escapes
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > most {
				return true
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return false
}
