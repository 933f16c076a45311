package sqlforward

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNextNumber(t *testing.T) {
	t.Parallel()
	const columns = "CREATE TABLE `t` (\n  `offset` bigint NOT NULL AUTO_INCREMENT,\n  `c` text COMMENT 'AUTO_INCREMENT=7'\n) ENGINE=InnoDB"
	require.Equal(t, int64(1), nextNumber(columns+" DEFAULT CHARSET=utf8mb4"))
	require.Equal(t, int64(101), nextNumber(columns+" AUTO_INCREMENT=101 DEFAULT CHARSET=utf8mb4"))
}
