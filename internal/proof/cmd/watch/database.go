package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var errNoServer = errors.New("LEAT_POSTGRES_URL is not set: run it by make watch")

// database is a database that exists while the program runs.
type database struct {
	pool *pgxpool.Pool
	url  string // URL of the server
	name string
}

func newDatabase(ctx context.Context, url string) (*database, error) {
	if url == "" {
		return nil, errNoServer
	}
	db := &database{url: url, name: fmt.Sprintf("leat_watch_%d_%d", os.Getpid(), time.Now().UnixMilli())}
	if err := db.onServer(ctx, "CREATE DATABASE "+db.name); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err == nil {
		cfg.ConnConfig.Database = db.name
		db.pool, err = pgxpool.NewWithConfig(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, db.drop())
	}
	return db, nil
}

// onServer runs a statement outside of the database.
func (db *database) onServer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// drop drops the database, even if the program's ctx has ended.
func (db *database) drop() error {
	if db.pool != nil {
		db.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return db.onServer(ctx, "DROP DATABASE "+db.name+" WITH (FORCE)")
}
