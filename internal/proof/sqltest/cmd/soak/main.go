// Command soak is the soak command of internal/proof with the drivers for -store mysql, mariadb and
// sqlite:
//
//	go run ./cmd/soak -store mariadb -for 10m -seed 7
package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/chaos/soak"
	"github.com/leat-go/leat/internal/proof/sqltest"
)

func main() { soak.Main(roles.Extras{Open: open}) }

// open is a roles.Opener.
func open(store, address string, dial roles.Dial) (*sql.DB, error) {
	if store == roles.SQLite {
		return sql.OpenDB(sqltest.SQLiteConnector(address, nil)), nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parse the database's URL: %w", err)
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.DBName = "tcp", u.Host, u.User.Username(), strings.Trim(u.Path, "/")
	config.InterpolateParams = true
	config.Logger = &mysql.NopLogger{}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	}
	config.Params = map[string]string{}
	for name, values := range u.Query() {
		config.Params[name] = values[0]
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", u.Redacted(), err)
	}
	return sql.OpenDB(connector), nil
}
