package dynamoinbox

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

// Setup makes the table unless it is there, with on-demand capacity, and has DynamoDB delete
// what Retention is over for. It can be called again, and at once by many.
//
// A table that was made by other means has the partition key pk (B), no sort key, and deletes
// by the attribute ttl. One with other keys is refused with outbox.ErrInvalidConfig.
func (in *Inbox) Setup(ctx context.Context) error {
	return dynamotable.Table{
		Name: in.cfg.Table, Partition: dynamotable.Key{Name: attrKey, Type: types.ScalarAttributeTypeB}, Expires: attrExpires,
	}.Setup(ctx, in.client)
}
