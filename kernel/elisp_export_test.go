package kernel

// Argv is the command that starts the kernel, but for the path of its socket.
func (e *Emacs) Argv() []string { return e.argv() }

// Paths is what it has to read.
func (e *Emacs) Paths() []string { return e.paths }

// Interrupter is what interrupts the kernel.
type Interrupter = interrupter

// NewInterrupter and Descendants are what their names say.
var (
	NewInterrupter = newInterrupter //nolint:gochecknoglobals // an export for tests
	Descendants    = descendants    //nolint:gochecknoglobals // likewise
)
