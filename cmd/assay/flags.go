package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/testcases/lint"
)

// logLevelFlag is the flag --log, which sets the log level of a process.
type logLevelFlag struct{ p *cli }

// String returns the level in lower case.
func (l logLevelFlag) String() string {
	if l.p == nil {
		return ""
	}
	return strings.ToLower(l.p.logLevel.Level().String())
}

// Set sets the level, and notes that it was given.
func (l logLevelFlag) Set(text string) error {
	l.p.logLevelGiven = true
	return l.p.logLevel.UnmarshalText([]byte(text))
}

// Type returns the name of the kind of value.
func (l logLevelFlag) Type() string { return "level" }

// choiceFlag is a flag whose value is one of several words.
type choiceFlag struct {
	value *string
	words []string
}

// String returns the chosen word.
func (c choiceFlag) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set makes text the flag's value. It fails if text is not one of the words.
func (c choiceFlag) Set(text string) error {
	if !slices.Contains(c.words, text) {
		last := len(c.words) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.words[:last], ", "), c.words[last])
	}
	*c.value = text
	return nil
}

// Type returns the name of the kind of value.
func (c choiceFlag) Type() string { return "word" }

// byteSizeFlag is a flag for a number of bytes, such as 512MiB or 2g. A number without a
// unit is bytes.
type byteSizeFlag int64

// String returns the size with a binary unit, such as 2GiB.
func (s *byteSizeFlag) String() string {
	return strings.ReplaceAll(units.BytesSize(float64(*s)), " ", "")
}

// Type returns the name of the kind of value.
func (s *byteSizeFlag) Type() string { return "size" }

// Set parses a size, and rejects negative and huge ones.
func (s *byteSizeFlag) Set(text string) error {
	bytes, err := units.RAMInBytes(text)
	if err != nil || bytes < 0 || bytes > math.MaxInt64/2 {
		return errors.New("want a size such as 512MiB or 2GiB, or 0")
	}
	*s = byteSizeFlag(bytes)
	return nil
}

// explainFlagError rewrites an error of parsing cmd's flags: for an invalid value it names the
// flag, the value and what is expected; for an unknown flag the one that was probably meant.
// It returns other errors unchanged.
func explainFlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		})
		name := unknown.GetSpecifiedName()
		if name == "token" { // a flag of earlier versions
			return fmt.Errorf("unknown flag --token: a token comes from --token-file or %s, never from an argument", tokenVariable)
		}
		return fmt.Errorf("unknown flag --%s: %s", name, suggest("--", lint.NearestWord(name, names), cmd))
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := invalid.GetFlag()
	problem := invalid.Unwrap().Error()
	switch flag.Value.Type() {
	case "duration":
		problem = "want a duration with a unit, such as 30s, 5m or 1h30m"
	case "int", "int64":
		problem = "want a whole number"
	case "float64":
		problem = "want a number"
	case "bool":
		problem = "want true or false"
	}
	return fmt.Errorf("--%s %s: %s", flag.Name, invalid.GetValue(), problem)
}
