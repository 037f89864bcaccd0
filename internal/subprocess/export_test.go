package subprocess

// RemoveCgroups kills and removes all cgroups below root, as the helper does.
func RemoveCgroups(root string) error { return (&cgroups{root: root}).remove() }
