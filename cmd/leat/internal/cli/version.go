package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Version is the command version.
type Version struct{}

// versionRow is the JSON of the version.
type versionRow struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// versionHere is the version that the program was built from, if it is known.
func versionHere() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Run prints the version that the program was built from.
func (*Version) Run(d *command.Deps) error {
	row := versionRow{Version: versionHere(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				row.Revision = setting.Value
			}
		}
	}
	return d.Object(row, show.Fact{Name: "leat", Value: row.Version}, show.Fact{Name: "revision", Value: row.Revision},
		show.Fact{Name: "go", Value: row.Go}, show.Fact{Name: "platform", Value: row.Platform})
}
