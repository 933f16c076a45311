package driver

import (
	"context"
	"time"
)

// Place is where an outbox is, as its server reports it.
type Place struct {
	// Host is the name or the address that the connection was made to; account/region on DynamoDB.
	Host string
	// Database is the name of the database; the path of the file on SQLite, the table on
	// DynamoDB.
	Database string
	// Instance is the server's own identity: the system identifier of PostgreSQL, server_uuid of
	// MySQL, server_uid of MariaDB; the id of the table on DynamoDB, which changes when it is
	// restored.
	Instance string
}

// Placed is a Source that reports its place.
type Placed interface {
	// Place asks the server that the source would read from.
	Place(ctx context.Context) (Place, error)
}

// ServerChange is a change of the server on which a group is relayed, by a failover for instance.
type ServerChange struct {
	// Before and Now are the servers, in words: the timeline on PostgreSQL; name, port and
	// server_id on MySQL and MariaDB. Both are empty if no change was noticed.
	Before, Now string
	// Age is how long ago a relay of the group noticed it, by the clock of the server.
	Age time.Duration
}

// Moved is a Session that notices when the server is another one than before.
type Moved interface {
	Session

	// Moved returns the last change, as of when the lease was acquired. It makes no request.
	Moved() ServerChange
}
