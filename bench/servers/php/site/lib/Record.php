<?php
declare(strict_types=1);

/** A row of a table. */
final class Record
{
    /** @param array<string, mixed> $fields */
    public function __construct(private array $fields)
    {
    }

    public function __get(string $name): mixed
    {
        return $this->fields[$name] ?? throw new OutOfBoundsException($name);
    }

    /** @return array<string, mixed> */
    public function fields(): array
    {
        return $this->fields;
    }
}
