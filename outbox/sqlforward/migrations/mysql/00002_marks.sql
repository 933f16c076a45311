-- The last row that was seen of a table: another row with its number means that the numbers
-- of the table have begun anew.
CREATE TABLE IF NOT EXISTS @{_marks} (
    name   VARBINARY(255) NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    uuid   VARBINARY(255) NOT NULL
) ENGINE=InnoDB;
