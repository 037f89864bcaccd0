package builtin

import "cmp"

// NameTask tells how a strategy takes up a query: under which label, and how the
// work on it is called, ai:LABEL:TEXT. current is the label of the query before;
// "" is that of the first. Only blocks knows labels, others keep the first.
func NameTask(strategy, query, current string) (label, name string) {
	label = cmp.Or(current, firstLabel)
	if strategy == "blocks" {
		if cut, text, ok := cutLabel(query); ok {
			label, query = cut, text
		}
	}
	return label, taskTitle(label, query)
}
