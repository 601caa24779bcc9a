<?php
declare(strict_types=1);

/** The database: tables that are made when a page first asks for them, the same in every request. */
final class Store
{
    /** @var array<string, Table> */
    private array $tables = [];

    private const MAKERS = ['articles' => 'makeArticles', 'comments' => 'makeComments', 'products' => 'makeProducts',
        'orders' => 'makeOrders'];

    public function __get(string $name): Table
    {
        return $this->tables[$name] ??= new Table($this->{self::MAKERS[$name]}());
    }

    private function makeArticles(): Generator
    {
        $dice = new Dice(11);
        for ($id = 0; $id < 60; ++$id) {
            yield [
                'id' => $id,
                'title' => ucwords($dice->words(4)),
                'author' => ucfirst($dice->word()),
                'day' => 19000 + $dice->below(900),
                'tags' => array_unique(explode(' ', $dice->words(5))),
                'text' => $dice->text(6),
            ];
        }
    }

    private function makeComments(): Generator
    {
        $dice = new Dice(12);
        for ($id = 1; $id <= 300; ++$id) {
            yield [
                'id' => $id,
                'article' => $id % 12 * 5,
                'parent' => $id > 40 ? $id - 12 * (1 + $dice->below(3)) : 0,
                'author' => ucfirst($dice->word()),
                'text' => $dice->words(8 + $dice->below(30)) . ' <' . $dice->word() . '>',
            ];
        }
    }

    private function makeProducts(): Generator
    {
        $dice = new Dice(13);
        for ($id = 0; $id < 200; ++$id) {
            yield [
                'id' => $id,
                'name' => ucfirst($dice->words(2)),
                'cents' => 99 + $dice->below(20000),
                'group' => ['books', 'garden', 'kitchen', 'music', 'tools'][$dice->below(5)],
                'weight' => 10 + $dice->below(5000),
            ];
        }
    }

    private function makeOrders(): Generator
    {
        $dice = new Dice(14);
        for ($id = 0; $id < 400; ++$id) {
            $lines = [];
            for ($left = 1 + $dice->below(5); $left > 0; --$left) {
                $lines[] = ['product' => $dice->below(200), 'count' => 1 + $dice->below(4)];
            }
            yield [
                'id' => $id,
                'customer' => ucfirst($dice->word()) . ' ' . ucfirst($dice->word()),
                'day' => 18628 + $dice->below(1096),
                'lines' => $lines,
            ];
        }
    }
}
