package wmforward

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the rendered SQL of a Source, beside pgwindow's.
type statements struct {
	facts, probe, list, page    string
	position, start, fence      string
	held, safe, restore, forget string
}

// renderStatements fills in the names: @{…} of our own tables, and {log} and
// {offsets} for the forwarder's.
func renderStatements(cfg Config) (statements, error) {
	var s statements
	forwarders := strings.NewReplacer("{log}", cfg.log().Qualified(""), "{offsets}", cfg.offsets().Qualified(""))
	for _, f := range []struct {
		to   *string
		file string
	}{
		{&s.facts, "facts"},
		{&s.probe, "probe"},
		{&s.list, "list"},
		{&s.page, "page"},
		{&s.position, "position"},
		{&s.start, "start"},
		{&s.fence, "fence"},
		{&s.held, "held"},
		{&s.safe, "safe"},
		{&s.restore, "restore"},
		{&s.forget, "forget"},
	} {
		raw, err := sqlFiles.ReadFile("sql/" + f.file + ".sql")
		if err != nil {
			return statements{}, fmt.Errorf("leat: statement %s: %w", f.file, err)
		}
		sql, err := cfg.state().Render(string(raw))
		if err != nil {
			return statements{}, err
		}
		*f.to = forwarders.Replace(sql)
	}
	return s, nil
}
