<?php
declare(strict_types=1);

final class Response
{
    public function __construct(
        public readonly string $body,
        public readonly int $status = 200,
        public readonly string $type = 'text/html; charset=utf-8',
    ) {
    }

    public static function json(mixed $data): self
    {
        return new self(json_encode($data, JSON_THROW_ON_ERROR | JSON_PRETTY_PRINT), 200, 'application/json');
    }
}
