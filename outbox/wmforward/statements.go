package wmforward

import (
	"embed"
	"strings"

	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the rendered SQL of a Source, in addition to pgwindow's.
type statements struct {
	facts, probe, list, page    string
	position, start, fence      string
	held, safe, restore, forget string
	stats, place                string
	eraseFind, eraseLog         string
}

// renderStatements fills in the names: @{…} of our own tables, and {log} and
// {offsets} for the forwarder's.
func renderStatements(cfg Config) (statements, error) {
	var s statements
	forwarders := strings.NewReplacer("{log}", cfg.log().Qualified(""), "{offsets}", cfg.offsets().Qualified(""))
	render := func(sql string) (string, error) {
		sql, err := cfg.state().Render(sql)
		return forwarders.Replace(sql), err
	}
	err := sqlfile.Load(sqlFiles, render, map[string]*string{
		"facts":    &s.facts,
		"probe":    &s.probe,
		"list":     &s.list,
		"page":     &s.page,
		"position": &s.position,
		"start":    &s.start,
		"fence":    &s.fence,
		"held":     &s.held,
		"safe":     &s.safe,
		"restore":  &s.restore,
		"forget":   &s.forget,
		"stats":    &s.stats,
		"place":    &s.place,

		"erase_find": &s.eraseFind,
		"erase_log":  &s.eraseLog,
	})
	return s, err
}
