<?php
declare(strict_types=1);

/** The pages that people read. */
final class Pages
{
    public static function home(Store $store): Response
    {
        $newest = static fn (Record $a, Record $b): int => [$b->day, $a->id] <=> [$a->day, $b->id];
        $tags = [];
        foreach ($store->articles->where(static fn (Record $row): bool => $row->day > 19100) as $article) {
            foreach ($article->tags as $tag) {
                $tags[$tag] = ($tags[$tag] ?? 0) + 1;
            }
        }
        ksort($tags);
        return Template::page('home', 'News', [
            'articles' => $store->articles->sorted($newest, 20),
            'tags' => $tags,
        ]);
    }

    /** @param array<string, string> $found */
    public static function article(Store $store, array $found): Response
    {
        $article = $store->articles->get((int) $found['id']);
        if ($article === null) {
            return new Response('no such article', 404, 'text/plain');
        }
        $replies = [];
        foreach ($store->comments->with('article', $article->id) as $comment) {
            $replies[$comment->parent][] = $comment;
        }
        return Template::page('article', $article->title, [
            'article' => $article,
            'html' => Markup::html($article->text),
            'replies' => $replies,
        ]);
    }

    /** @param array<string, string> $found */
    public static function search(Store $store, array $found): Response
    {
        $search = new Search();
        foreach ($store->articles->where(static fn (): bool => true) as $article) {
            $search->add($article->id, $article->title . ' ' . $article->text);
        }
        $hits = [];
        foreach ($search->find($found['words'], 10) as $id => $rank) {
            $hits[] = ['article' => $store->articles->get($id), 'rank' => number_format($rank, 3)];
        }
        return Template::page('search', 'Found', ['words' => $found['words'], 'hits' => $hits]);
    }

    /** @param array<string, string> $found items: PRODUCTxCOUNT,… */
    public static function basket(Store $store, array $found): Response
    {
        $lines = [];
        foreach (explode(',', $found['items']) as $item) {
            [$id, $count] = sscanf($item, '%dx%d');
            $product = $store->products->get($id);
            $alike = array_filter(
                $store->products->with('group', $product->group),
                static fn (Record $other): bool => abs($other->cents - $product->cents) < 2500,
            );
            $lines[] = [
                'product' => $product,
                'count' => $count,
                'cents' => $count * $product->cents,
                'alike' => array_map(static fn (Record $other): string => $other->name, array_slice($alike, 0, 6)),
            ];
        }
        $cents = array_sum(array_column($lines, 'cents'));
        return Template::page('basket', 'Basket', ['lines' => $lines, 'cents' => $cents, 'tax' => intdiv($cents * 19, 119)]);
    }
}
