<?php
declare(strict_types=1);

/** An inverted index over texts; documents are ranked by how rare the words are that they hold. */
final class Search
{
    /** @var array<string, array<int, int>> word -> document -> count */
    private array $places = [];
    private int $documents = 0;

    public function add(int $id, string $text): void
    {
        ++$this->documents;
        foreach (preg_split('/[^a-z]+/', strtolower($text), -1, PREG_SPLIT_NO_EMPTY) as $word) {
            $this->places[$word][$id] = ($this->places[$word][$id] ?? 0) + 1;
        }
    }

    /** @return array<int, float> the best documents first, with their rank */
    public function find(string $words, int $limit): array
    {
        $ranks = [];
        foreach (explode(' ', strtolower($words)) as $word) {
            $found = $this->places[$word] ?? [];
            $weight = log(1 + $this->documents / (1 + count($found)));
            foreach ($found as $id => $count) {
                $ranks[$id] = ($ranks[$id] ?? 0) + $weight * (1 + log($count));
            }
        }
        uksort($ranks, static fn (int $a, int $b): int => [$ranks[$b], $a] <=> [$ranks[$a], $b]);
        return array_slice($ranks, 0, $limit, true);
    }
}
