<?php
declare(strict_types=1);

/** A plain markup turned into HTML: headings, lists, emphasis, links. */
final class Markup
{
    public static function html(string $text): string
    {
        return implode("\n", array_map(self::block(...), explode("\n\n", $text)));
    }

    private static function block(string $block): string
    {
        if (str_starts_with($block, '# ')) {
            return '<h2>' . self::inline(substr($block, 2)) . '</h2>';
        }
        if (str_starts_with($block, '- ')) {
            $items = array_map(static fn (string $line): string => self::inline(substr($line, 2)), explode("\n", $block));
            return '<ul><li>' . implode('</li><li>', $items) . '</li></ul>';
        }
        return '<p>' . wordwrap(self::inline($block), 100) . '</p>';
    }

    private static function inline(string $text): string
    {
        $safe = htmlspecialchars($text, ENT_QUOTES);
        $linked = preg_replace_callback(
            '/\[([^]]+)\]\(([^)]+)\)/',
            static fn (array $found): string => sprintf('<a href="%s">%s</a>', $found[2], strtoupper($found[1])),
            $safe,
        );
        return preg_replace('/\*([^*]+)\*/', '<em>$1</em>', $linked);
    }
}
