package sandbox

import (
	"os"
	"strconv"
	"strings"
)

// minProcessNumbers is the least that kernel.pid_max is by default.
const minProcessNumbers = 32768

// ProcessNumbers returns how many processes and threads Linux can number at the same time
// (kernel.pid_max), for all users together.
func ProcessNumbers() int {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return minProcessNumbers
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return minProcessNumbers
	}
	return n
}
