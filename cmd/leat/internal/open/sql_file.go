package open

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"strings"

	"modernc.org/sqlite"
)

// openFile opens SQLite. It creates a missing file only if that is requested, so that a typing error in a
// path creates no database.
func (d *SQL) openFile() error {
	path := strings.TrimPrefix(strings.TrimPrefix(d.target.URL, "sqlite:"), "//")
	if path == "" || strings.HasPrefix(path, ":memory:") || strings.ContainsAny(path, "?#") {
		return badURL(d.target.URL, "must be sqlite: and the path of a file, such as sqlite:/var/lib/shop/shop.db")
	}
	d.file, d.name = path, path
	d.db = sql.OpenDB(file{driver: &sqlite.Driver{}, path: path, create: d.target.Create})
	return nil
}

// file is a driver.Connector of SQLite.
type file struct {
	driver driver.Driver
	path   string
	create bool
}

// Connect implements driver.Connector. It does not change the journal mode of an existing file: the mode is
// the application's choice, and the change would be permanent.
func (f file) Connect(context.Context) (driver.Conn, error) {
	pragmas := []string{"busy_timeout(10000)", "synchronous(FULL)"}
	mode := "rw"
	if _, err := os.Stat(f.path); err != nil {
		if !f.create || !os.IsNotExist(err) {
			return nil, fmt.Errorf("leat: %w (leat migrate up makes it)", err)
		}
		mode, pragmas = "rwc", append(pragmas, "journal_mode(WAL)")
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas, "mode": {mode}}
	return f.driver.Open("file:" + (&url.URL{Path: f.path}).EscapedPath() + "?" + query.Encode())
}

// Driver implements driver.Connector.
func (f file) Driver() driver.Driver { return f.driver }
