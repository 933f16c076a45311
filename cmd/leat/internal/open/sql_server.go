package open

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// connectTimeout bounds how long a connection may take to open, unless the URL sets another timeout.
const connectTimeout = 10 * time.Second

// openServer opens MySQL or MariaDB.
func (d *SQL) openServer() error {
	cfg, err := serverConfig(d.target.URL)
	if err != nil {
		return err
	}
	if d.target.Dial != nil {
		cfg.DialFunc = d.target.Dial
	}
	err = cfg.Apply(mysql.BeforeConnect(func(_ context.Context, cfg *mysql.Config) error {
		url, err := d.target.again()
		if err != nil {
			return badURL(d.target.URL, err.Error())
		}
		now, err := serverConfig(url)
		if err == nil {
			cfg.User, cfg.Passwd = now.User, now.Passwd
		}
		return err
	}))
	if err != nil {
		return err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return badURL(d.target.URL, err.Error())
	}
	d.db, d.name, d.server = sql.OpenDB(unreserved{connector}), cfg.Addr+"/"+cfg.DBName, cfg.Addr
	return nil
}

// unreserved rejects the connection that the server keeps for its administrators, the one beyond
// max_connections.
type unreserved struct{ driver.Connector }

var errReserved = errors.New("leat: the server has no connection left but the one that it reserves for administrators (max_connections)")

// Connect implements driver.Connector.
func (u unreserved) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	most, err := valueOf(ctx, conn, "SELECT '', @@max_connections")
	var now int
	if err == nil {
		now, err = valueOf(ctx, conn, connectedNow())
	}
	if err == nil && now > most {
		err = errReserved
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

var errNoValue = errors.New("leat: the server has answered with no number")

// valueOf returns the number in the second column of the first row that a statement returns.
func valueOf(ctx context.Context, conn driver.Conn, statement string) (int, error) {
	asks, ok := conn.(driver.QueryerContext)
	if !ok {
		return 0, errNoValue
	}
	rows, err := asks.QueryContext(ctx, statement, nil)
	if err != nil {
		return 0, err
	}
	row := make([]driver.Value, 2)
	err = rows.Next(row)
	if err = errors.Join(err, rows.Close()); err != nil {
		return 0, err
	}
	switch v := row[1].(type) {
	case int64:
		return int(v), nil
	case uint64:
		return int(v), nil //nolint:gosec // a number of connections
	case []byte:
		return strconv.Atoi(string(v))
	default:
		return 0, errNoValue
	}
}

// badURL returns an error about a URL, without its password.
func badURL(address, reason string) error {
	return outbox.ConfigError("database", settings.Redact(address), reason)
}

// serverConfig reads a URL such as mysql://user:password@host:3306/database?tls=true. Its
// parameters are those of the driver, and socket, the path of a Unix socket.
func serverConfig(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil: // its text may contain a part of the password
		return nil, badURL(address, "must be like mysql://user:password@host:3306/database, with what is special in the password escaped, such as %2F for a slash")
	case strings.Trim(u.Path, "/") == "" || strings.Contains(u.Path[1:], "/"):
		return nil, badURL(address, "must name the database, such as mysql://leat@db:3306/shop")
	}
	query := u.Query()
	said := mysql.NewConfig()
	said.Net, said.Addr, said.User, said.DBName = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306")), u.User.Username(), u.Path[1:]
	said.Passwd, _ = u.User.Password()
	if socket := query.Get("socket"); socket != "" {
		said.Net, said.Addr = "unix", socket
		query.Del("socket")
	}
	cfg, err := mysql.ParseDSN(said.FormatDSN() + "?" + query.Encode())
	if err != nil {
		return nil, badURL(address, settings.Redact(err.Error()))
	}
	if !query.Has("interpolateParams") {
		cfg.InterpolateParams = true // one round trip per statement
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, connectTimeout)
	cfg.Logger = &mysql.NopLogger{} // its errors are returned as well
	return cfg, nil
}

// nowhere is a database that cannot be connected to.
type nowhere struct{}

var errOffline = errors.New("leat: nothing is connected to")

// Connect implements driver.Connector.
func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, errOffline }

// Driver implements driver.Connector.
func (nowhere) Driver() driver.Driver { return mysql.MySQLDriver{} }
