package open

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/dedupe/sqldedupe"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// Component implements Database.
func (d *SQL) Component(name string) (Component, error) {
	switch name {
	case "outbox":
		ob, err := d.own()
		if err != nil {
			return nil, err
		}
		return component{ob, func(ctx context.Context) (current, latest int, err error) {
			s, err := ob.SchemaStatus(ctx)
			return s.Current, s.Latest, err
		}, func() (fs.FS, error) { return sqloutbox.Migrations(d.named, d.outboxConfig()) }}, nil
	case "inbox":
		// Migrate and SchemaStatus apply to all consumers, and register none.
		in, err := sqlinbox.New(d.db, d.named, "leat", d.inboxConfig())
		if err != nil {
			return nil, err
		}
		return component{in, func(ctx context.Context) (current, latest int, err error) {
			s, err := in.SchemaStatus(ctx)
			return s.Current, s.Latest, err
		}, func() (fs.FS, error) { return sqlinbox.Migrations(d.named, d.inboxConfig()) }}, nil
	case "dedupe":
		cfg := sqldedupe.Config{Table: d.target.Dedupe}
		store, err := sqldedupe.New(d.db, d.named, cfg)
		if err != nil {
			return nil, err
		}
		return component{store, func(ctx context.Context) (current, latest int, err error) {
			s, err := store.SchemaStatus(ctx)
			return s.Current, s.Latest, err
		}, func() (fs.FS, error) {
			files, err := sqldedupe.Migrations(d.named, cfg)
			return sqlfile.Files(files), err
		}}, nil
	default:
		return nil, fmt.Errorf("component %q: %w", name, errNoComponent)
	}
}
