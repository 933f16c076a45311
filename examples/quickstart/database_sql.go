package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlDatabase is MySQL, MariaDB or SQLite, through database/sql. The names of leat's
// dialects are those of -on.
type sqlDatabase struct {
	name databaseName
}

func (d sqlDatabase) dialect() outbox.Dialect { return outbox.Dialect(d.name) }

func (d sqlDatabase) needs() testenv.Needs {
	return testenv.Needs{MySQL: d.name == onMySQL, MariaDB: d.name == onMariaDB}
}

// create makes a file, or a database on a server. The address is the driver's.
func (d sqlDatabase) create(ctx context.Context, st *stage, name string) (string, error) {
	switch d.name {
	case onSQLite:
		query := url.Values{
			"_txlock": {"immediate"},
			"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
		}
		return "file:" + filepath.Join(st.settings.Dir, name+".db") + "?" + query.Encode(), nil
	case onMariaDB:
		return d.createOnServer(ctx, st, st.env.MariaDBURL, name)
	default:
		return d.createOnServer(ctx, st, st.env.MySQLURL, name)
	}
}

func (d sqlDatabase) createOnServer(ctx context.Context, st *stage, server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	address := u.User.String() + "@tcp(" + u.Host + ")/"
	db, err := d.open(address)
	if err != nil {
		return "", err
	}
	name = testenv.NewDatabaseName(name)
	if _, err := db.ExecContext(ctx, "CREATE DATABASE `"+name+"`"); err != nil {
		return "", errors.Join(err, db.Close())
	}
	st.later(func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE `"+name+"`")
		return errors.Join(err, db.Close())
	})
	return address + name + "?interpolateParams=true", nil
}

func (d sqlDatabase) migrate(ctx context.Context, address string) (err error) {
	db, err := d.open(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ob, err := sqloutbox.New(db, d.dialect(), sqloutbox.Config{})
	if err != nil {
		return err
	}
	if err := ob.Migrate(ctx); err != nil {
		return err
	}
	in, err := sqlinbox.New(db, d.dialect(), consumerName, sqlinbox.Config{})
	if err != nil {
		return err
	}
	return in.Migrate(ctx)
}

func (d sqlDatabase) open(address string) (*sql.DB, error) {
	return sql.Open(d.name.driver(), address)
}

// pending asks leat: a position is a number and what is missing below it.
func (d sqlDatabase) pending(ctx context.Context, db *sql.DB) (left int64, err error) {
	ob, err := sqloutbox.New(db, d.dialect(), sqloutbox.Config{})
	if err != nil {
		return 0, err
	}
	stats, err := ob.Admin().Stats(ctx)
	for _, group := range stats.Groups {
		for _, slot := range group.Slots {
			left += slot.Backlog
		}
		left += int64(group.Held)
	}
	return left, err
}
