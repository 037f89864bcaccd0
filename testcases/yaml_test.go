package testcases_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each way of writing a value in YAML becomes the expected JSON value.
func TestYAMLValues(t *testing.T) {
	t.Parallel()
	c := loadOneCase(t, "c.yaml", `
id: 2024-01-01
task: >
  folded
  text
metadata:
  &base z: 1
  ints: [1, -2, +3, 0x1f, 0o17, 0b11, 1_000, 123456789012345678901234567890, -98765432109876543210]
  floats: [1.0, 1e3, .5, .inf, -.Inf, .NaN, 1_0.5]
  words: [yes, no, on, off, y, ~, null, True, FALSE, "true", 'null', 12:30, 2024-01-01, 2024-01-01T00:00:00Z, =, 1.2.3, 0o9]
  tagged: [!!str 5, !!float 5.5, !custom x, !!binary aGk=]
  nested: {a: [], b: {}, c: [[1], {d: }]}
  true: key
  5: key
  common: &common {a: 1, b: 2}
  also: &also {b: 3, c: 4}
  merged: {<<: *common, b: own}
  both: {<<: [*common, *also], d: 5}
  alias: *common
`)
	require.Equal(t, "2024-01-01", c.ID)
	require.Equal(t, "folded text\n", c.Task)
	out, err := json.Marshal(c.Metadata)
	require.NoError(t, err)
	require.Equal(t, `{"z":1,`+
		`"ints":[1,-2,3,31,15,3,1000,123456789012345678901234567890,-98765432109876543210],`+
		`"floats":[1.0,1000.0,0.5,{"$float":"Infinity"},{"$float":"-Infinity"},{"$float":"NaN"},10.5],`+
		`"words":["yes","no","on","off","y",null,null,true,false,"true","null","12:30","2024-01-01","2024-01-01T00:00:00Z","=","1.2.3","0o9"],`+
		`"tagged":["5",5.5,"x","aGk="],`+
		`"nested":{"a":[],"b":{},"c":[[1],{"d":null}]},`+
		`"true":"key","5":"key",`+
		`"common":{"a":1,"b":2},"also":{"b":3,"c":4},"merged":{"b":"own","a":1},"both":{"d":5,"a":1,"b":2,"c":4},"alias":{"a":1,"b":2}}`,
		string(out))
}

func TestRefusedYAML(t *testing.T) { //nolint:paralleltest // loadErrorText changes the working directory
	for text, want := range map[string]string{
		"id: a\ntask: b\nmetadata: &m [*m]": "anchor 'm' value contains itself",
		"id: a\ntask: *nowhere":             "unknown anchor 'nowhere' referenced",
		"? [1]\n: 2":                        "invalid map key",
		"id: a\ntask: !!int x":              "cannot decode",
		"":                                  "no case in c.yaml",
		"---\n":                             "c.yaml:2: want a case, which is an object, found null",
		"just text":                         "c.yaml:1: want a case, which is an object, found string",
		yamlAliasBomb():                     "excessive aliasing",
	} {
		require.Contains(t, loadErrorText(t, "c.yaml", text), want, text)
	}
}

// yamlAliasBomb returns a YAML document that would grow exponentially if its aliases
// were resolved.
func yamlAliasBomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		name, before := string(rune('b'+i)), string(rune('a'+i))
		if i == 0 {
			before = "a0"
		}
		text += name + ": &" + name + " ["
		for range 10 {
			text += "*" + before + ", "
		}
		text += "]\n"
	}
	return text
}
