package dynamoinbox

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

// Setup creates the table if it does not exist, with on-demand capacity, and makes DynamoDB
// delete items whose Retention is over. It can be called again, and by many processes at once.
//
// A table that was created by other means must have the partition key pk (B), no sort key, and
// ttl as its time-to-live attribute. A table with other keys is refused with
// outbox.ErrInvalidConfig.
func (in *Inbox) Setup(ctx context.Context) error {
	return dynamotable.Table{
		Name: in.cfg.Table, Partition: dynamotable.Key{Name: attrKey, Type: types.ScalarAttributeTypeB}, Expires: attrExpires,
	}.Setup(ctx, in.client)
}
