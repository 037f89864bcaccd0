package testcases_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

func TestLocalDataPaths(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"sub/c.json": `[]`})
	file := filepath.Join(dir, "sub", "c.json")
	prefixes := map[string]string{
		"latch://":            "/mnt/latch",
		"latch://38.account":  "/mnt/38",
		"latch://38.account/": "/mnt/38slash",
		"latch://9.node":      "/mnt/nine.h5ad",
		"s3://bucket/":        "/mnt/bucket",
	}
	for name, want := range map[string]string{
		"rows.csv":                     filepath.Join(dir, "sub", "rows.csv"),
		"../shared/rows.csv":           filepath.Join(dir, "shared", "rows.csv"),
		"/data/rows.csv":               "/data/rows.csv",
		"latch://123.node":             "/mnt/latch/123.node",
		"latch:///x/y.csv":             "/mnt/latch/x/y.csv",
		"latch://38.account/a/b.h5ad":  "/mnt/38slash/a/b.h5ad",
		"latch://38.accounting/b.h5ad": "/mnt/latch/38.accounting/b.h5ad",
		"latch://9.node":               "/mnt/nine.h5ad",
		"latch://../../etc/passwd":     "",
		"latch://a/../../passwd":       "",
		"s3://bucket/k":                "/mnt/bucket/k",
		"s3://other/k":                 "",
		"gs://bucket/k":                "",
	} {
		require.NoError(t, os.WriteFile(file, []byte(`{"id": "a", "task": "", "data_node": "`+name+`"}`), 0o644))
		cases, err := testcases.Load([]string{file}, testcases.Options{Data: prefixes})
		require.NoError(t, err)
		require.Equal(t, []testcases.DataFile{{Name: name, Path: want, Base: filepath.Base(name)}}, cases[0].Data)
	}
}

func TestCheckData(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"c.json":   `{"id": "case-1", "task": "", "data_node": ["here.csv", "absent.csv", "folder", "latch://1.node"]}`,
		"here.csv": "x", "folder/x": "",
	})
	cases, err := testcases.Load([]string{dir}, testcases.Options{})
	require.NoError(t, err, "missing data does not keep a case from loading")
	err = cases[0].CheckDataFiles()
	require.EqualError(t, err, strings.ReplaceAll(`case "case-1": data absent.csv: stat HERE/absent.csv: no such file or directory
case "case-1": data folder: HERE/folder is not a regular file
case "case-1": data latch://1.node: no local folder is given for such an address (--data PREFIX=DIR)`, "HERE", dir))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "absent.csv"), nil, 0o644))
	require.NotContains(t, cases[0].CheckDataFiles().Error(), "absent.csv", "the disk is looked at each time")
	require.NoError(t, testcases.Case{}.CheckDataFiles())
}

// The data files of a case file with a relative path get absolute paths.
func TestDataPathsAreAbsolute(t *testing.T) {
	dir := writeTestFolder(t, map[string]string{"c.json": `{"id": "a", "task": "", "data_node": "x.csv"}`, "x.csv": ""})
	t.Chdir(dir)
	cases, err := testcases.Load([]string{"c.json"}, testcases.Options{})
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(cases[0].Data[0].Path))
	require.NoError(t, cases[0].CheckDataFiles())
}
