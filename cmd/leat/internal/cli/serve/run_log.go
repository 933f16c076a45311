package serve

import (
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// newLogger returns the logger of a daemon, and its level, which can be changed.
func newLogger(to io.Writer, d settings.Daemon) (*slog.LevelVar, *slog.Logger, error) {
	at, err := logLevel(d)
	if err != nil {
		return nil, nil, err
	}
	level := &slog.LevelVar{}
	level.Set(at)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redacted}
	if d.Log != nil && d.Log.Format.Value == "json" {
		return level, slog.New(slog.NewJSONHandler(to, options)), nil
	}
	return level, slog.New(slog.NewTextHandler(to, options)), nil
}

// redacted returns attr without passwords, which errors of drivers may contain.
func redacted(_ []string, attr slog.Attr) slog.Attr {
	switch value := attr.Value.Any().(type) {
	case error:
		attr.Value = slog.StringValue(settings.InFile(settings.Redact(value.Error())))
	case string:
		attr.Value = slog.StringValue(settings.Redact(value))
	}
	return attr
}

func logLevel(d settings.Daemon) (slog.Level, error) {
	if d.Log == nil {
		return slog.LevelInfo, nil
	}
	var findings []settings.Finding
	for _, choice := range []struct {
		text settings.Text
		of   []string
	}{{d.Log.Level, []string{"debug", "info", "warn", "error"}}, {d.Log.Format, []string{"text", "json"}}} {
		if choice.text.Set() && !slices.Contains(choice.of, choice.text.Value) {
			findings = append(findings, settings.Finding{
				Line: choice.text.Line(), Text: fmt.Sprintf("%s: %q: must be one of %q", choice.text.Name(), choice.text.Value, choice.of),
			})
		}
	}
	if len(findings) > 0 {
		return 0, &settings.InvalidError{Path: d.Path(), Findings: findings}
	}
	level := slog.LevelInfo
	if d.Log.Level.Set() {
		_ = level.UnmarshalText([]byte(d.Log.Level.Value))
	}
	return level, nil
}
