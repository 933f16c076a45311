package testbed

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"github.com/go-sql-driver/mysql"

	"github.com/leat-go/leat/internal/testenv"
)

// MariaDB creates a database on MariaDB, which Close removes.
func (bed *Testbed) MariaDB(ctx context.Context, name string) (*sql.DB, error) {
	u, err := url.Parse(bed.env.MariaDBURL)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", u.Host, u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Logger = &mysql.NopLogger{}
	server, err := open(config)
	if err != nil {
		return nil, err
	}
	own := config.Clone()
	own.DBName = testenv.NewDatabaseName(name)
	if _, err := server.ExecContext(ctx, "CREATE DATABASE `"+own.DBName+"`"); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	db, err := open(own)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	bed.mu.Lock()
	defer bed.mu.Unlock()
	bed.closers = append(bed.closers, func() error {
		err := db.Close()
		_, dropped := server.ExecContext(context.Background(), "DROP DATABASE `"+own.DBName+"`")
		return errors.Join(err, dropped, server.Close())
	})
	return db, nil
}

func open(config *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
