package sandbox

// SystemPaths returns the paths of the system that any interpreter may need to read,
// for [Rules]. Missing among them are the folders of people (/home, /root), of
// all (/tmp, /var, /run), and what in /etc is nobody else's business.
func SystemPaths() []string {
	return []string{
		"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin",
		"/nix/store", "/gnu/store",

		// Processes outside show their command lines and figures there, but not
		// their environment, memory or files, which take the right to trace them.
		"/proc",
		"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",

		// the dynamic linker
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
		// names of people, machines and services
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname",
		"/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		// time and language
		"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/inputrc",
		// what the system is
		"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alternatives",
		// certificates
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
		"/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
		// kinds of files, fonts and pictures
		"/etc/mime.types", "/etc/magic", "/etc/fonts", "/var/cache/fontconfig", "/etc/ImageMagick-6", "/etc/ImageMagick-7",
		// interpreters and tools
		"/etc/R", "/etc/emacs", "/etc/python3", "/etc/python3.9", "/etc/python3.10", "/etc/python3.11", "/etc/python3.12",
		"/etc/python3.13", "/etc/matplotlibrc", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/julia", "/etc/gitconfig",
	}
}

// devices may be read and written by everybody. The terminal is not among them,
// nor are anybody's pseudo terminals: what is behind them is the user's.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}
