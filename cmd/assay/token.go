package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// tokenFlag is the flag for the access token of a server. A token is never an argument: every user
// of the machine, and every sandboxed cell, can read the arguments of a process.
type tokenFlag struct{ file string }

// tokenVariable is the environment variable with the token.
const tokenVariable = "ASSAY_TOKEN"

// add adds --token-file. what says what the token is for.
func (f *tokenFlag) add(flags *pflag.FlagSet, what string) {
	flags.StringVar(&f.file, "token-file", "", "`file` with the access token "+what+"; without it the token is "+tokenVariable)
}

// read returns the token, without the white space around it; "" if there is none. It fails if the file
// cannot be read or is empty.
func (f *tokenFlag) read(p *cli) (string, error) {
	if f.file == "" {
		token, _ := p.getenv(tokenVariable)
		return token, nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("--token-file %s: the file is empty", f.file)
	}
	return token, nil
}

// newRandomToken returns a token of 130 random bits.
func newRandomToken() string { return rand.Text() }
