package rawjson

// Indent appends compact JSON to out, with an element per line and a space per level, as Jupyter writes it. Every
// line but the first begins with prefix. Values that are more than maxDepth levels deep stay on the line of the
// value that they are in: otherwise deeply nested lists would take hundreds of times their size.
func Indent(out, compact []byte, prefix string, maxDepth int) []byte {
	depth := 0
	newLine := func(level int) {
		out = append(append(out, '\n'), prefix...)
		for range level {
			out = append(out, ' ')
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case c == '"':
			end := i + 1 + StringEnd(compact[i+1:])
			out = append(out, compact[i:end]...)
			i = end - 1
		case c == '{' || c == '[':
			depth++
			out = append(out, c)
			if depth <= maxDepth && compact[i+1] != c+2 { // the closing one is two further, in ASCII
				newLine(depth)
			}
		case c == '}' || c == ']':
			if depth <= maxDepth && compact[i-1] != c-2 {
				newLine(depth - 1)
			}
			depth--
			out = append(out, c)
		case c == ',' && depth <= maxDepth:
			out = append(out, c)
			newLine(depth)
		case c == ':' && depth <= maxDepth:
			out = append(out, c, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}
