package sandbox

// Template is a fence that lacks the folder around which it stands.
type Template struct {
	Machine Machine // from [ProbeMachine]
	Rules   Rules   // all but Root
}

// PlanFor returns the plan of the fence around root, behind which the paths of
// read may be read, too. A nil Template is no fence, and its plan nil.
func (t *Template) PlanFor(root string, read ...string) (*Plan, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // no fence has no plan
	}
	rules := t.Rules
	rules.Workdir = root
	rules.ReadPaths = append(append([]string{}, rules.ReadPaths...), read...)
	plan, err := t.Machine.Plan(rules)
	return &plan, err
}

// MaxProcesses is the limit of the rules; 0: there is none, or no fence.
func (t *Template) MaxProcesses() int {
	if t == nil {
		return 0
	}
	return t.Rules.MaxProcesses
}

// CanEnforce tells whether a promise, such as [EnforcesWrite], is kept.
func (t *Template) CanEnforce(promise string) bool {
	return t != nil && t.Machine.Enforceable(t.Rules)[promise]
}
