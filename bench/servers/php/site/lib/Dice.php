<?php
declare(strict_types=1);

/** Seeded numbers and made-up prose. */
final class Dice
{
    private const SYLLABLES = ['ba', 'dor', 'en', 'fil', 'gra', 'hem', 'il', 'jo', 'kas', 'lum', 'mor', 'nit',
        'or', 'pel', 'qua', 'ris', 'sta', 'tum', 'ul', 'ven', 'wis', 'yor', 'zan', 'che'];

    public function __construct(private int $state)
    {
    }

    public function below(int $bound): int
    {
        $this->state = ($this->state * 1103515245 + 12345) & 0x7fffffff;
        return ($this->state >> 8) % $bound;
    }

    public function word(): string
    {
        $word = '';
        for ($left = 1 + $this->below(3); $left > 0; --$left) {
            $word .= self::SYLLABLES[$this->below(count(self::SYLLABLES))];
        }
        return $word;
    }

    public function words(int $count): string
    {
        $words = [];
        while (count($words) < $count) {
            $words[] = $this->word();
        }
        return implode(' ', $words);
    }

    /** Paragraphs with some emphasis, links and lists, in a plain markup. */
    public function text(int $paragraphs): string
    {
        $parts = [];
        for ($at = 0; $at < $paragraphs; ++$at) {
            $parts[] = match ($this->below(5)) {
                0 => '# ' . ucfirst($this->words(3)),
                1 => '- ' . implode("\n- ", array_map(fn () => $this->words(4), range(1, 4))),
                default => ucfirst($this->words(18)) . ' *' . $this->word() . '* ' . $this->words(9)
                    . ' [' . $this->words(2) . '](/articles/' . $this->below(60) . '). ' . ucfirst($this->words(14)) . '.',
            };
        }
        return implode("\n\n", $parts);
    }
}
