<?php
declare(strict_types=1);

/** Rows by id, with indexes by field that are made when they are first asked for. */
final class Table
{
    /** @var array<int, Record> */
    private array $rows = [];

    /** @var array<string, array<int|string, list<Record>>> */
    private array $indexes = [];

    /** @param iterable<array<string, mixed>> $rows */
    public function __construct(iterable $rows)
    {
        foreach ($rows as $row) {
            $this->rows[$row['id']] = new Record($row);
        }
    }

    public function get(int $id): ?Record
    {
        return $this->rows[$id] ?? null;
    }

    /** @return list<Record> */
    public function with(string $field, int|string $value): array
    {
        if (!isset($this->indexes[$field])) {
            $this->indexes[$field] = [];
            foreach ($this->rows as $row) {
                $this->indexes[$field][$row->$field][] = $row;
            }
        }
        return $this->indexes[$field][$value] ?? [];
    }

    /** @return list<Record> */
    public function sorted(callable $order, int $limit = PHP_INT_MAX): array
    {
        $rows = array_values($this->rows);
        usort($rows, $order);
        return array_slice($rows, 0, $limit);
    }

    /** @return Generator<Record> */
    public function where(callable $condition): Generator
    {
        foreach ($this->rows as $row) {
            if ($condition($row)) {
                yield $row;
            }
        }
    }
}
