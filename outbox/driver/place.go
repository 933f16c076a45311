package driver

import "context"

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
