package mysqlbinlog

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Bell. DSN is required.
type Config struct {
	// DSN is the address of the server and the user, in the format of the driver
	// github.com/go-sql-driver/mysql: user:password@tcp(host:3306)/shop. It names the database
	// that Tables are in. TLS and the timeout to connect are those of the DSN. The user needs
	// REPLICATION SLAVE, and on MySQL REPLICATION CLIENT, too.
	DSN string

	// Tables are the tables that ring the bell, without the database: sqloutbox.Config.Table, or
	// tables of Watermill. At most 1,000. Defaults to "leat_outbox".
	Tables []string

	// ServerID is the number of the Bell among all readers of the server's binary log. It must
	// differ from those of the server, its replicas and other Bells: if two readers have the same
	// number, the server ends the older one. Defaults to a random number from 2³¹ on, a new one
	// for each connection.
	ServerID uint32

	// Heartbeat is how often the server sends a sign of life while it writes nothing, 100 ms to
	// an hour. A connection that is silent for three times as long is closed. Defaults to 10 s.
	Heartbeat time.Duration

	// Logger receives messages for operators: why there is no bell, once per reason, and that
	// there is one again. Defaults to slog.Default() as of New; slog.New(slog.DiscardHandler)
	// silences it.
	Logger *slog.Logger
}

// maxTables bounds Config.Tables.
const maxTables = 1000

func (c Config) withDefaults() Config {
	c.Tables = slices.Clone(c.Tables)
	if len(c.Tables) == 0 {
		c.Tables = []string{"leat_outbox"}
	}
	c.Heartbeat = cmp.Or(c.Heartbeat, 10*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if len(c.Tables) > maxTables {
		return outbox.ConfigError("Tables", strconv.Itoa(len(c.Tables))+" tables", "must be at most "+strconv.Itoa(maxTables))
	}
	for i, table := range c.Tables {
		if table == "" || strings.ContainsAny(table, ".`\x00") {
			return outbox.ConfigError("Tables["+strconv.Itoa(i)+"]", strconv.Quote(table),
				"must be the name of a table, without its database and without quotes")
		}
	}
	if c.Heartbeat < 100*time.Millisecond || c.Heartbeat > time.Hour {
		return outbox.ConfigError("Heartbeat", c.Heartbeat, "must be 100ms to 1h")
	}
	return nil
}

// server returns the contents of DSN. Errors do not quote it, since it contains a password.
func (c Config) server() (*mysql.Config, error) {
	if c.DSN == "" {
		return nil, outbox.ConfigError("DSN", `""`, "must not be empty")
	}
	server, err := mysql.ParseDSN(c.DSN)
	if err != nil {
		return nil, outbox.ConfigError("DSN", "(not shown)", "must be a DSN of github.com/go-sql-driver/mysql: "+err.Error())
	}
	if server.DBName == "" {
		return nil, outbox.ConfigError("DSN", "(not shown)", "must name a database, after the last /")
	}
	server.Logger = &mysql.NopLogger{} // errors are returned, too
	return server, nil
}
