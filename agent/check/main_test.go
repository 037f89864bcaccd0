package check_test

import (
	"testing"

	"assay/internal/subprocess/subprocesstest"
)

func TestMain(m *testing.M) { subprocesstest.RunTestsOrRole(m, nil) }
