package logger_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/logger"
)

// A3: a default logger tells warnings and errors, and only those, to slog.Default().
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_DefaultLoggerWarns(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))

	l := logger.Or(nil).With(slog.Int("a", 1)).WithGroup("g")
	l.Debug("debug")
	l.Info("info")
	l.Warn("warning", slog.Int("b", 2))
	l.Error("error")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "level=WARN msg=warning a=1 g.b=2")
	require.Contains(t, lines[1], "level=ERROR msg=error a=1")
}

// A3: a handler that wants errors only gets errors only.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_DefaultLoggerKeepsTheHandlersLevel(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})))

	l := logger.Or(nil)
	l.Warn("warning")
	l.Error("error")

	require.NotContains(t, out.String(), "warning")
	require.Contains(t, out.String(), "error")
}

// A3: no package of the library makes a logger of its own: a nil Logger that discards
// would hide what its operator must know.
func TestA3_NobodyDiscards(t *testing.T) {
	t.Parallel()
	files := 0
	for _, dir := range []string{"outbox", "inbox", "dedupe", "middleware"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			files++
			if strings.Contains("\n"+string(source), "\npackage main\n") {
				return err // a program decides what it logs
			}
			for line := range strings.Lines(string(source)) {
				if strings.Contains(line, "slog.New(") && !strings.HasPrefix(strings.TrimSpace(line), "//") {
					t.Errorf("%s: %s", path, line)
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, files, 100)
}
