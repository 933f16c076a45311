-- What Forwarders keep beside the forwarder's tables. Texts are bytes: no collation makes
-- "A" of "a".

-- How far a table is moved: the last number that was seen, and those below it that were
-- not, with the times since when. last is -1 until the forwarder's place is taken.
CREATE TABLE IF NOT EXISTS @{_positions} (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    last BIGINT NOT NULL,
    gaps LONGBLOB NOT NULL
) ENGINE=InnoDB;

-- Rows that are not envelopes, with the reason. They are not moved.
CREATE TABLE IF NOT EXISTS @{_malformed} (
    no      BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name    VARBINARY(255) NOT NULL,
    number  BIGINT NOT NULL,
    uuid    VARBINARY(255) NOT NULL,
    payload LONGBLOB,
    reason  BLOB NOT NULL,
    at      BIGINT NOT NULL
) ENGINE=InnoDB;

-- The last row that was seen of a table: another row with its number means that the numbers
-- of the table have begun anew.
CREATE TABLE IF NOT EXISTS @{_marks} (
    name   VARBINARY(255) NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    uuid   VARBINARY(255) NOT NULL
) ENGINE=InnoDB;
