package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/report"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestThePageIsWrittenFromTheRun(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	path := filepath.Join(t.TempDir(), "run.json")
	r := report.Run{Start: time.Unix(0, 0), Seconds: 1, Services: []report.Service{{Name: "PostgreSQL", Version: "15.9"}}}
	require.NoError(t, r.Save(path))
	var log bytes.Buffer
	require.Zero(t, run([]string{"-docs", docs, path}, &log), log.String())
	_, err := os.Stat(filepath.Join(docs, "reliability.md"))
	require.NoError(t, err)

	for place, change := range map[string]func(*report.Run){
		"daemon.json": func(r *report.Run) { r.Daemon = true },
		"sqlite.json": func(r *report.Run) { r.Services = []report.Service{{Name: "SQLite", Version: "3"}} },
	} {
		beside := r
		change(&beside)
		require.NoError(t, beside.Save(path))
		require.Zero(t, run([]string{"-docs", docs, path}, &log), log.String())
		saved, err := report.Load(filepath.Join(docs, "reliability", place))
		require.NoError(t, err)
		require.Equal(t, beside.Services, saved.Services)
	}

	r.Verdict.Checks = []history.Finding{{Name: history.O2, Promise: "no loss", Violations: 3}}
	require.NoError(t, r.Save(path))
	require.Equal(t, 1, run([]string{"-docs", docs, path}, &log))
	require.Contains(t, log.String(), "O2 was violated 3 times")
}

func TestWithoutARunThereIsNoPage(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	require.Equal(t, 2, run(nil, &log))
	require.Equal(t, 2, run([]string{"-docs", t.TempDir(), "none.json"}, &log))
	require.Equal(t, 2, run([]string{"-nothing"}, &log))
}
