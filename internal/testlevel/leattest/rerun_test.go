package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errFirst = errors.New("exit status 1")

// events has a package that passed and one whose sub-test failed.
const events = `{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Test":"TestB/x","Output":"    b_test.go:1: late\n"}
{"Action":"fail","Package":"b","Test":"TestB/x"}
{"Action":"fail","Package":"b","Test":"TestB"}
{"Action":"fail","Package":"b"}
`

func TestRerun(t *testing.T) {
	tests := map[string]struct {
		events string
		again  error
		want   error
		calls  int
	}{
		"passes then":   {events, nil, nil, 1},
		"fails again":   {events, errors.New("exit status 1"), errFirst, 1},
		"more than two": {events + strings.Repeat(`{"Action":"fail","Package":"b","Test":"TestC"}`, 2), nil, errFirst, 0},
		"a data race":   {events + `{"Action":"output","Package":"b","Test":"TestB","Output":"WARNING: DATA RACE\n"}`, nil, errFirst, 0},
		"a panic":       {events + `{"Action":"output","Package":"b","Test":"TestB","Output":"panic: test timed out after 12m0s\n"}`, nil, errFirst, 0},
		"a killed process": {`{"Action":"output","Package":"b","Test":"TestD","Output":"panic: failpoint: here\n"}
{"Action":"pass","Package":"b","Test":"TestD"}` + "\n" + events, nil, nil, 1},
		"a leak":            {events + `{"Action":"fail","Package":"c"}`, nil, errFirst, 0},
		"it does not build": {`{"Action":"build-fail","ImportPath":"c"}`, nil, errFirst, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			require.NoError(t, os.WriteFile(file, []byte(test.events), 0o600))
			flakes := filepath.Join(t.TempDir(), "flakes")
			t.Setenv(flakesVariable, flakes)
			calls := 0
			err := (&run{reruns: 2}).rerun(errFirst, file, func(packages, flags []string) error {
				calls++
				require.Equal(t, []string{"b"}, packages)
				require.Contains(t, flags, "-run=^TestB$")
				return test.again
			})
			require.ErrorIs(t, err, test.want)
			require.Equal(t, test.calls, calls)
			noted, _ := os.ReadFile(flakes)
			require.Equal(t, test.want == nil, string(noted) == "b TestB\n", "only what passed then is noted: %q", noted)
		})
	}
}
