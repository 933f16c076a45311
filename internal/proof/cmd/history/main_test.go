package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/history"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	intended = `{"type":"intent","id":"a","key":"k","version":1}` + "\n" + `{"type":"committed","id":"a"}` + "\n"
	sent     = `{"type":"record","id":"a","key":"k","topic":"t"}` + "\n" + `{"type":"dump","of":"record","rows":1}` + "\n"
	unsent   = `{"type":"dump","of":"record"}` + "\n"
)

func TestTheExitCodeIsTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		code       int
		says       string
	}{
		{"innocent", intended + sent, innocent, "No violation."},
		{"convicted", intended + unsent, convicted, "VIOLATED: O2"},
		{"unusable", intended, unusable, "unusable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "h.jsonl"), []byte(c.text), 0o600))
			var out, log bytes.Buffer
			require.Equal(t, c.code, run(t.Context(), []string{dir}, &out, &log))
			require.Contains(t, out.String()+log.String(), c.says)
		})
	}
}

func TestTheVerdictCanBeReadByMachines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "h.jsonl"), []byte(intended+unsent), 0o600))
	var out, log bytes.Buffer
	require.Equal(t, convicted, run(t.Context(), []string{"-json", dir}, &out, &log))
	var v history.Verdict
	require.NoError(t, json.Unmarshal(out.Bytes(), &v))
	require.Equal(t, []string{history.O2}, v.Violated())
}

func TestAWrongCallIsExplained(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	require.Equal(t, unusable, run(t.Context(), nil, &out, &log))
	require.Contains(t, log.String(), "usage")
	require.Equal(t, unusable, run(t.Context(), []string{"-unknown"}, &out, &log))
}
