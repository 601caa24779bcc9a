<?php
declare(strict_types=1);

/** What other programs read. */
final class Reports
{
    /** Sales of a year by month and group. @param array<string, string> $found */
    public static function orders(Store $store, array $found): Response
    {
        $months = [];
        foreach ($store->orders->where(self::inYear((int) $found['year'])) as $order) {
            $month = gmdate('Y-m', $order->day * 86400);
            foreach ($order->lines as $line) {
                $product = $store->products->get($line['product']);
                $sum = &$months[$month][$product->group];
                $sum ??= ['cents' => 0, 'grams' => 0, 'customers' => []];
                $sum['cents'] += $line['count'] * $product->cents;
                $sum['grams'] += $line['count'] * $product->weight;
                $sum['customers'][$order->customer] = true;
                unset($sum);
            }
        }
        ksort($months);
        foreach ($months as &$groups) {
            ksort($groups);
            $groups = array_map(static fn (array $sum): array => [
                'euros' => sprintf('%.2f', $sum['cents'] / 100),
                'kilograms' => round($sum['grams'] / 1000, 1),
                'customers' => array_keys($sum['customers']),
            ], $groups);
        }
        unset($groups);
        return Response::json(['year' => (int) $found['year'], 'months' => $months]);
    }

    /** A table as JSON, through CSV and back, so that both ways are checked. @param array<string, string> $found */
    public static function export(Store $store, array $found): Response
    {
        $kind = $found['kind'];
        if ($kind !== 'products') {
            return new Response('no such table', 404, 'text/plain');
        }
        $lines = ['id;name;cents;group;weight'];
        foreach ($store->products->where(static fn (): bool => true) as $row) {
            $lines[] = implode(';', $row->fields());
        }
        $csv = implode("\r\n", $lines);
        $rows = array_map(static fn (string $line): array => str_getcsv($line, ';'), explode("\r\n", $csv));
        $names = array_shift($rows);
        $whole = array_map(static fn (array $row): array => array_combine($names, $row), $rows);
        $again = json_decode(json_encode($whole), true);
        return Response::json(['table' => $kind, 'bytes' => strlen($csv), 'md5' => md5($csv), 'same' => $again === $whole,
            'rows' => $again]);
    }

    private static function inYear(int $year): Closure
    {
        return static fn (Record $order): bool => (int) gmdate('Y', $order->day * 86400) === $year;
    }
}
