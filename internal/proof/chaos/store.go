package chaos

import (
	"context"
	"strings"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
)

// store is the kind of database that the processes of a run use.
type store interface {
	// start starts its server and returns it, nil if it has none.
	start(ctx context.Context) (*testenv.Own, error)
	// open makes the databases of bank and ledger, with outbox, inbox and accounts.
	open(ctx context.Context) error
	// forget drops the driver's connections, which a crash may have broken.
	forget()
	service() report.Service

	// roster lists the processes to run.
	roster() []member
	// address returns the database address for a process, which reaches the server at hostPort.
	address(role, process, hostPort string) (string, error)
	// isCommit reports whether the bytes that a client has written contain a COMMIT.
	isCommit(b []byte) bool
	// strikes reports whether a deed can have an effect on this store.
	strikes(d deed) bool

	// crash crashes the server.
	crash() serverFault
	// lines returns faults that involve foreign transactions.
	lines(in *injection) []serverFault
	// terminate ends a session of a process. If inTransaction is true, it ends one that is in a
	// transaction.
	terminate(ctx context.Context, process string, inTransaction bool) bool

	// pending returns how many records wait for the relays of a role, at most 100.
	pending(ctx context.Context, role string) int64
	// counted returns the numbers of enqueued events and of effects, negative if unknown.
	counted(ctx context.Context) (enqueued, effects int64)
	// leftovers returns the kinds of work in flight in the databases.
	leftovers() []leftover
	// dropParked does what operators do with records that can never be sent.
	dropParked(ctx context.Context) error
	// dump records the contents of the databases.
	dump(ctx context.Context, d dumper) error
}

// ground is a store on which acts can be performed, with everything that they need.
type ground interface {
	// acts returns the acts of this store.
	acts(in *injection) []act
	// newest returns the id of the newest transfer between accounts whose id is at least from.
	newest(ctx context.Context, from string) (id string, err error)
	// arrived reports whether one of these transfers has had its effect.
	arrived(ctx context.Context, ids []string) (bool, error)
	// booked counts the transfers whose keys begin with key.
	booked(ctx context.Context, key string) (int64, error)
	// toSend counts the records that the bank's relays must send, for the first time or again.
	toSend(ctx context.Context) (int64, error)
	// unsent counts the records whose keys begin with key and that wait for the bank's relays or are set
	// aside.
	unsent(ctx context.Context, key string) (int64, error)
	// rebase makes the relays of a role start over.
	rebase(ctx context.Context, role string) error
	// setMaxLag sets the maximum lag of the group that sends the bank's outbox.
	setMaxLag(ctx context.Context, req admin.MaxLagRequest) error
	// disconnect ends all sessions of the processes.
	disconnect(ctx context.Context) error
}

// newStore returns the store that the options select.
func newStore(st *stage) store {
	switch st.options.Store {
	case roles.Postgres:
		return postgresStore{st}
	case roles.DynamoDB:
		return &dynamoStore{stage: st}
	default:
		return &sqlStore{stage: st}
	}
}

// member is a process of a run.
type member struct{ name, role string }

// pairs returns banks and two processes of each reading role, for stores that have only those roles.
func pairs(banks ...member) []member {
	for _, role := range []string{roles.Relay, roles.Ledger, roles.Receipts} {
		banks = append(banks, member{role + "-1", role}, member{role + "-2", role})
	}
	return banks
}

// pointServer returns the point of faults of the store's server.
func pointServer(store string) string { return "server/" + store }

// pointConnection returns the point of faults of a role's connection to the store's server.
func pointConnection(role, store string) string { return "connection/" + role + "-" + store }

// isConnection reports whether d needs a server that is reached over the network.
func isConnection(d deed) bool {
	return strings.HasPrefix(d.point, "connection/") || d.kind == roles.KindCut
}
