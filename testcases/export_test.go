package testcases

// LoadText is Load of one file, from memory.
func LoadText(path string, text []byte) ([]Case, error) { return readCases(path, text, nil) }

// MayHoldCases is what decides about files in folders.
func MayHoldCases(text string) bool { return mayHoldCases([]byte(text)) }
