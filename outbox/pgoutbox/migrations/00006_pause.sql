-- Patterns of the topics that an operator has paused; NULL: none. * is all of the group.
ALTER TABLE @{_groups} ADD COLUMN paused text[];
