package debezium

import (
	"embed"
	"strings"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of the package.
type statements struct {
	slot, pending, mark  string
	createSlot, dropSlot string
	publish, published   string
}

func loadStatements() (statements, error) {
	var s statements
	render := func(sql string) (string, error) { return strings.ReplaceAll(sql, "@{primary}", pgerr.Primary), nil }
	err := sqlfile.Load(sqlFiles, render, map[string]*string{
		"slot": &s.slot, "pending": &s.pending, "mark": &s.mark,
		"create_slot": &s.createSlot, "drop_slot": &s.dropSlot,
		"publish": &s.publish, "published": &s.published,
	})
	return s, err
}
