// Package sandbox confines a process, and everything that it starts, to a folder: it
// limits which files they may read and write, which programs they may talk to or
// signal, and how much memory, disk and processes they may use.
//
// [Rules] say what is wanted, [Machine] says what this machine can do, and
// [Machine.Plan] makes a [Plan] of both, in which everything is decided. There are two
// launchers that carry out a plan, with the same steps in the same order: [Exec] for a
// program that is executed, and the Python kernel's sandbox module for a process that is
// forked. A step that fails is an error, so nothing runs with less protection than its
// plan says.
//
// What a plan cannot enforce on a machine is said by [Machine.Enforceable] and
// [Plan.Enforces], and in sentences by [DescribeUnenforced].
package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Network says which network addresses a sandboxed process may reach.
type Network string

// The values of [Network]. The empty one means NetworkOn.
const (
	NetworkOn       Network = "on"       // all
	NetworkLoopback Network = "loopback" // only listeners in the same sandbox
	NetworkOff      Network = "off"      // none, except Rules.ListenerPort
)

// Rules says what a sandboxed process and everything that it starts may do. Besides the
// paths named here it may read and write a few devices, such as the null device.
type Rules struct {
	// Workdir may be read, written and executed. HOME and TMPDIR should be in it.
	// Required, absolute.
	Workdir string

	// ReadPaths are files and folders that may be read and executed. They must be
	// absolute; missing ones are skipped. [SystemPaths] returns those that every program
	// needs.
	ReadPaths []string

	// HiddenPaths are files and folders that may not be read although they are below a folder of
	// ReadPaths. Their names can be listed. They must be as from [ResolvePath]. What is made in a
	// folder that contains one, after the plan was made, cannot be read either.
	HiddenPaths []string

	// WritePaths are files and folders that may be written too. They must be absolute;
	// missing ones are skipped.
	WritePaths []string

	// SharedFolders are folders with files of several sandboxes, such as their working folders, or with files that are not
	// for this one. With private mounts, only the paths of these rules exist in them. Otherwise a program that knows a path
	// could connect to a Unix socket of another sandbox, or learn the size of a file. They must be absolute; missing ones are skipped.
	SharedFolders []string

	// VisiblePaths exist in SharedFolders, too, but may not be read, such as a folder with a socket to connect to.
	VisiblePaths []string

	Network Network

	// ListenerPort is the TCP port on 127.0.0.1 of a listener that the server has for this sandbox alone, which may
	// connect to it with every Network. In a private network (see [Machine.HasPrivateNetwork]) the launcher opens it and
	// hands it over; the port is then PrivateListenerPort. Otherwise the server must have opened it, and NetworkOff
	// can be enforced only in part: other TCP ports cannot be connected to, but this one can on every machine.
	// 0: no listener.
	ListenerPort uint16

	// NeedsLoopback says that the processes of the sandbox talk to each other over the network,
	// and have no other way: they get NetworkLoopback instead of NetworkOff.
	NeedsLoopback bool

	// AllowUnixSockets allows sockets of the Unix family with NetworkOff too. Socket
	// pairs are always allowed, except of datagram sockets.
	AllowUnixSockets bool

	// MaxMemoryBytes is how much each process may allocate (RLIMIT_DATA). Memory that it
	// shares with others or maps from files does not count. 0: no limit.
	MaxMemoryBytes int64

	// MaxProcesses limits the number of processes and threads. 0: no limit. A plan can
	// only set RLIMIT_NPROC, which does not bind root (a [CgroupLimit] does), and which
	// counts all processes of a user without a user namespace: the plan then adds as many
	// as the system has.
	MaxProcesses int

	MaxOpenFiles int   // open descriptors of each process; 0: no limit
	MaxFileBytes int64 // size of each file; 0: no limit
}

// extraTotalMemory is how much more than a process all processes of a sandbox may use together, beside a
// quarter: a process that reaches its limit gets an error before Linux kills it.
const extraTotalMemory = 64 << 20

// TotalMemoryBytes returns how much memory all processes of a sandbox may use together, with shared
// memory, where a cgroup can limit that: MaxMemoryBytes, a quarter and 64 MiB. 0: no limit.
func (r Rules) TotalMemoryBytes() int64 {
	if r.MaxMemoryBytes == 0 {
		return 0
	}
	return r.MaxMemoryBytes + r.MaxMemoryBytes/4 + extraTotalMemory
}

// EffectiveNetwork returns the network of the rules: never empty, and NetworkLoopback instead of
// NetworkOff if the rules need it.
func (r Rules) EffectiveNetwork() Network {
	switch {
	case r.Network == "":
		return NetworkOn
	case r.Network == NetworkOff && r.NeedsLoopback:
		return NetworkLoopback
	default:
		return r.Network
	}
}

func (r Rules) validate() error {
	for _, path := range slices.Concat([]string{r.Workdir}, r.ReadPaths, r.HiddenPaths, r.WritePaths, r.SharedFolders, r.VisiblePaths) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("sandbox: the path %q is not absolute", path)
		}
	}
	switch r.Network {
	case "", NetworkOn, NetworkLoopback, NetworkOff:
	default:
		return fmt.Errorf("sandbox: the network is %q, and must be on, loopback or off", r.Network)
	}
	if r.MaxMemoryBytes < 0 || r.MaxProcesses < 0 || r.MaxOpenFiles < 0 || r.MaxFileBytes < 0 {
		return fmt.Errorf("sandbox: a limit is below 0")
	}
	return nil
}

// Template holds the sandbox settings that all sessions share: rules without a Workdir,
// and the machine. A nil *Template means no sandbox.
type Template struct {
	Machine Machine // from [ProbeMachine]
	Rules   Rules   // without Workdir

	// FindHidden, if set, returns further HiddenPaths of each plan: what lies in a folder that may be read can change.
	FindHidden func() []string
}

// PlanFor returns the plan of a sandbox around the folder workdir, in which readPaths
// may be read too. The plan of a nil Template is nil. It returns the errors of
// [Machine.Plan].
func (t *Template) PlanFor(workdir string, readPaths ...string) (*Plan, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // without a sandbox there is no plan
	}
	rules := t.Rules
	rules.Workdir = workdir
	rules.ReadPaths = slices.Concat(rules.ReadPaths, readPaths)
	if t.FindHidden != nil {
		rules.HiddenPaths = slices.Concat(rules.HiddenPaths, t.FindHidden())
	}
	plan, err := t.Machine.Plan(rules)
	return &plan, err
}

// WithNetwork returns a copy of the template with another network in its rules. It returns nil if
// the template is nil.
func (t *Template) WithNetwork(network Network) *Template {
	if t == nil {
		return nil
	}
	with := *t
	with.Rules.Network = network
	return &with
}

// WithListener returns a copy of the template whose sandboxes may connect to a listener at this port; see
// [Rules.ListenerPort]. It returns nil if the template is nil.
func (t *Template) WithListener(port uint16) *Template {
	if t == nil {
		return nil
	}
	with := *t
	with.Rules.ListenerPort = port
	return &with
}

// HasPrivateNetwork reports whether a sandbox of the template gets a network in which only its processes are. It
// returns false if the template is nil.
func (t *Template) HasPrivateNetwork() bool { return t != nil && t.Machine.HasPrivateNetwork(t.Rules) }

// WithWritePath returns a copy of the template in whose sandboxes path may be written too. It returns
// nil if the template is nil.
func (t *Template) WithWritePath(path string) *Template {
	if t == nil {
		return nil
	}
	with := *t
	with.Rules.WritePaths = append(slices.Clone(with.Rules.WritePaths), path)
	return &with
}

// MaxProcesses returns the limit of processes in the template's rules, or 0, which
// means no limit, if the template is nil.
func (t *Template) MaxProcesses() int {
	if t == nil {
		return 0
	}
	return t.Rules.MaxProcesses
}

// TotalMemoryBytes returns [Rules.TotalMemoryBytes] of the template's rules, or 0, which means no
// limit, if the template is nil or the machine cannot enforce it.
func (t *Template) TotalMemoryBytes() int64 {
	if t == nil || !t.Machine.MemoryCgroups {
		return 0
	}
	return t.Rules.TotalMemoryBytes()
}

// CanEnforce reports whether the machine can enforce the rule with this key, such as
// [EnforcesWrite]. It returns false if the template is nil.
func (t *Template) CanEnforce(key string) bool {
	return t != nil && t.Machine.Enforceable(t.Rules)[key]
}

// SystemPaths returns the system's paths that an interpreter may need to read, for
// [Rules]. It leaves out personal folders (/home, /root), shared ones (/tmp, /var,
// /run) and most of /etc.
func SystemPaths() []string {
	return []string{
		"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin",
		"/nix/store", "/gnu/store",

		// Processes outside the sandbox show their command lines and statistics here, but
		// not their environment, memory or files, for which one must be allowed to trace
		// them.
		"/proc",
		"/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",

		// the dynamic linker
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
		// names of users, hosts and services
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname",
		"/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		// time and language
		"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/inputrc",
		// the distribution
		"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alternatives",
		// certificates
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
		"/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
		// file types, fonts and pictures
		"/etc/mime.types", "/etc/magic", "/etc/fonts", "/var/cache/fontconfig", "/etc/ImageMagick-6", "/etc/ImageMagick-7",
		// interpreters and tools
		"/etc/R", "/etc/emacs", "/etc/python3", "/etc/python3.9", "/etc/python3.10", "/etc/python3.11", "/etc/python3.12",
		"/etc/python3.13", "/etc/matplotlibrc", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/julia", "/etc/gitconfig",
	}
}
