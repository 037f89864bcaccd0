package sandbox

// Template is a fence that lacks the folder around which it stands.
type Template struct {
	Machine Machine // from [Probe]
	Rules   Rules   // all but Root
}

// Around returns the plan of the fence around root, behind which the paths of
// read may be read, too. A nil Template is no fence, and its plan nil.
func (t *Template) Around(root string, read ...string) (*Plan, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // no fence has no plan
	}
	rules := t.Rules
	rules.Root = root
	rules.Read = append(append([]string{}, rules.Read...), read...)
	plan, err := t.Machine.Plan(rules)
	return &plan, err
}

// Processes is the limit of the rules; 0: there is none, or no fence.
func (t *Template) Processes() int {
	if t == nil {
		return 0
	}
	return t.Rules.Processes
}

// Holds tells whether a promise, such as [HoldsWrite], is kept.
func (t *Template) Holds(promise string) bool {
	return t != nil && t.Machine.Enforced(t.Rules)[promise]
}
