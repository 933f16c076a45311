package db

import "context"

const createOrder = `-- name: CreateOrder :one
INSERT INTO orders (id, cents) VALUES ($1, $2)
RETURNING id, cents
`

// CreateOrderParams are the arguments of CreateOrder.
type CreateOrderParams struct {
	ID    string
	Cents int64
}

// Order is a row of table orders.
type Order struct {
	ID    string
	Cents int64
}

// CreateOrder inserts an order and returns it.
func (q *Queries) CreateOrder(ctx context.Context, arg CreateOrderParams) (Order, error) {
	row := q.db.QueryRow(ctx, createOrder, arg.ID, arg.Cents)
	var i Order
	err := row.Scan(&i.ID, &i.Cents)
	return i, err
}
