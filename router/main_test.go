package router_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations in testdata")
	goleak.VerifyTestMain(m)
}
