import{C as e,b as t,d as n,g as r,i,m as a,s as o,t as s,v as c,w as l,x as u}from"./jsxRuntime.js";import{S as d,_ as f,c as p,f as m,l as h,n as g,p as _,r as v,u as y}from"./words.js";import{n as b,t as x}from"./who.js";import{a as S,i as C,n as w,p as T}from"./state.js";import{r as E}from"./asked.js";import{p as D}from"./index.js";import{t as O}from"./parts.js";import{n as k,t as A}from"./said.js";var j=f(`fragment Seen on Event { event at who why }`),M=f(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[j]),N=f(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        thing {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),P=f(`
  query Held($of: Address!) {
    chips(filter: { domain: { eq: $of }, state: { eq: UP } }) { totalCount }
    links(filter: { domain: { eq: $of }, scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
      nodes { address bandwidth { gigabytesPerSecond } }
    }
  }
`),F=f(`
  query HalvesIf($of: Address!, $down: [Address!]!, $derate: [Derating!]!) {
    whatIf(down: $down, derate: $derate) {
      bisection(of: $of) {
        exact sideA sideB
        upper { gigabytesPerSecond }
        baseline { exact sideA sideB upper { gigabytesPerSecond } }
      }
    }
  }
`),I=f(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [Derating!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),L=f(`
  query Brought($of: Address!) {
    incidents(scope: $of, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function R(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var ee=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],z={Nic:`NIC`,NetworkNode:`network node`};function B(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>v(t,z[e]??e.toLowerCase())).join(`, `)}var V=(e,t)=>`Set ${B(e)} ${T(t)}`;function H(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var U=({lastChange:e})=>e?.event??0;function te(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:U(n)})}var ne=(e,t)=>t.filter(t=>e.get(t.address)?.event!==U(t)),W=[`up`,`degraded`];function G(e,t,n){let r=!W.includes(t),i=e.filter(({state:e})=>W.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function K(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var q=2;function J({things:e,to:t,factor:n,route:r}){let{reached:i}=a(),o=G(e,t,n),c=t=>e.filter(({address:e})=>D(e)===t),l=[...new Set(e.map(({address:e})=>D(e)))].filter(Boolean),u=o&&!o.down.length&&!o.derate.length;return s(`section`,{class:`would`,"aria-label":`What it would change`,children:[s(`h3`,{children:[`What it would change `,s(`span`,{class:`quiet`,children:[`as of `,S(i),` UTC`]})]}),u&&s(`p`,{class:`quiet`,children:`Nothing: what carries anything now goes on as it does.`}),o&&!u&&l.slice(0,q).map(e=>s(re,{domain:e,supposed:o,things:c(e),to:t,route:r},e)),o&&!u&&l.length>q&&s(`p`,{class:`quiet`,children:[`and `,v(l.length-q,`more domain`)]}),o&&!l.length&&!u&&s(`p`,{class:`quiet`,children:`No scale-up domain holds it: no NeuronLink changes.`}),!o&&s(ie,{things:e,to:t}),s(ae,{things:e,to:t})]})}function Y({name:e,before:t,now:n,unit:r=``,isBad:i=!1,note:a=!1}){let o=n-t,c=o<0?`−`:`+`,l=r?`${p(Math.round(Math.abs(1e3*o/t))/10)} %`:p(Math.abs(o));return s(`div`,{children:[s(`dt`,{children:e}),s(`dd`,{children:[s(O,{now:`${p(n)}${r}`,before:p(t)+(o?``:r)}),s(`span`,{class:o<0!==i&&o&&!a?`less`:`quiet`,children:a||(o?`${c}${r&&!t?``:l}`:`no change`)})]})]})}function X({of:e,children:t}){return e.error?s(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?s(`p`,{class:`quiet`,children:`Computing…`}):null:s(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function re({domain:t,supposed:n,things:r,to:i,route:a}){let{from:o,to:c}=a.view===`domain`&&a.of===t?a.options:{},l=o&&c?{from:y(t,o),to:y(t,c)}:null,u=d(_(P,{of:t})),f=d(_(F,{of:t,...n})),p=d(l&&_(I,{...l,...n})),m=H(r),h=[...m.values()].filter(({state:e})=>e===`up`).length,v=new Set(n.down.length?[...n.down,...m.keys()]:[]),b=e=>v.has(e)||n.down.some(t=>e.startsWith(`${t}/`));return s(e,{children:[s(X,{of:u,children:({chips:{totalCount:n},links:r})=>{let a=r.nodes.filter(({bandwidth:e})=>!e.gigabytesPerSecond).length,o=r.nodes.filter(({address:e,bandwidth:t})=>!t.gigabytesPerSecond||v.has(e)||e.split(`--`).some(b)).length;return s(e,{children:[s(Y,{name:`Chips up in ${t}`,before:n,now:n-h}),i!==`degraded`&&s(Y,{name:`Links that carry nothing`,before:a,now:o,isBad:!0})]})}}),s(X,{of:f,children:({whatIf:{bisection:e}})=>{let{baseline:t}=e;if(!t)return null;let[n,r]=[t.upper.gigabytesPerSecond,e.upper.gigabytesPerSecond],i=`not comparable: ${t.sideA+t.sideB} → ${e.sideA+e.sideB} chips`;return s(Y,{name:e.exact&&t.exact?`Bisection`:`Bisection, at most`,before:n,now:r,unit:` GB/s`,note:r>n&&i})}}),l&&s(X,{of:p,children:({whatIf:{bandwidth:e}})=>s(Y,{name:`Maximum flow ${g(t,l.from)} to ${g(t,l.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function ie({things:t,to:n}){let r=t.find(({state:e})=>e!==`up`)?.address,i=d(n===`up`&&r?_(L,{of:r}):null),a=new Set(t.map(({address:e})=>e));return n!==`up`||!r?s(`p`,{class:`quiet`,children:`It carries more than now: how much shows when it is set.`}):s(X,{of:i,children:({incidents:{nodes:t}})=>{let n=t[0];return n?n.causeCount>n.causes.length||!n.causes.every(e=>a.has(e))?s(`p`,{class:`quiet`,children:[`It belongs to incident `,n.id,`, which has `,v(n.causeCount,`cause`),`: what the others took stays away.`]}):n.impact.domains.map(t=>s(e,{children:[s(Y,{name:`Chips that carry in ${t.domain}`,before:t.chipsNow,now:t.chipsBefore},`${t.domain} chips`),s(Y,{name:t.bisectionBefore.exact&&t.bisectionNow.exact?`Bisection`:`Bisection, at most`,before:t.bisectionNow.upper.gigabytesPerSecond,now:t.bisectionBefore.upper.gigabytesPerSecond,unit:` GB/s`},`${t.domain} bisection`)]})):s(`p`,{class:`quiet`,children:`It is no part of an incident.`})}})}function ae({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of H(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:s(`ul`,{class:`plain`,children:[...n].map(([e,t])=>s(`li`,{children:[s(w,{state:`degraded`}),` job `,e,` runs on `,v(t.length,`chip`),` of it`,s(`a`,{href:i(`jobs`,``,{in:D(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Where else it fits`})]},e))})}var Z=e=>Math.max(0,...e.map(({thing:e})=>`lastChange`in e?e.lastChange?.event??0:0)),oe=e=>k({says:e.says,undo:e.changes.length?()=>se(e):void 0});async function se({changes:e,why:t,who:n}){let i=Z(e);for(let a of K(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:i},{setState:o}=await m({..._(N,{input:e}),at:``});r(Z(o.changes))}}var Q=[`up`,`degraded`,`down`,`maintenance`],$=1e3;function ce(e){if(!e.places.length||document.querySelector(`dialog.change`))return;A();let t=document.body.appendChild(document.createElement(`div`));l(s(le,{change:e,close:()=>{l(null,t),t.remove()}}),t)}function le({change:e,close:i}){let a=t(null),l=t(new Map),f=o(),h=E(),[g,v]=u(()=>[...new Set(e.places)]),[y,S]=u(e.state),[w,T]=u(String(e.factor??.5)),[D,O]=u(``),[k,A]=u(!1),j=d(_(M,R(g))),P=j.data?ee(j.data):[];te(l.current,P);let F=ne(l.current,P),I=H(P).size,L=Number(w),z=!j.loading&&P.length>0&&P.length<g.length;return c(()=>{a.current?.showModal(),a.current?.querySelector(`[name=why]`)?.focus()},[]),s(`dialog`,{class:`change`,ref:a,"aria-labelledby":`change`,onClose:i,children:s(`form`,{onSubmit:async e=>{e.preventDefault();let t=new FormData(e.target),i=String(t.get(`why`)),o=b(t,h);A(!0),O(``);let s={addresses:P.map(({address:e})=>e),state:y.toUpperCase(),factor:y===`degraded`?L:null,why:i,who:o,unchangedSince:j.data?.events.nodes[0]?.event??0};try{let{setState:e}=await m({..._(N,{input:s}),at:``});a.current?.close(),r(Z(e.changes)),oe({says:ue(P,e.changes,y),why:i,who:o,changes:e.changes})}catch(e){let{code:t,message:r}=e;O(r),t===`CONFLICT`&&n(),A(!1)}},children:[s(`header`,{children:[s(`h2`,{id:`change`,children:`Set a state`}),s(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>a.current?.close(),children:s(`span`,{"aria-hidden":`true`,children:`×`})})]}),s(`div`,{class:`body`,children:[s(de,{things:j.error||!j.data?g.map(e=>({address:e})):P,places:g,set:v}),z&&s(`p`,{class:`failure`,role:`alert`,children:[p(g.length),` addresses, of which `,p(P.length),` are listed: set fewer at once.`]}),j.error&&s(`p`,{class:`failure`,role:`alert`,children:j.error.message}),s(`fieldset`,{class:`to`,children:[s(`legend`,{children:`To`}),Q.map(e=>s(`label`,{class:e,children:[s(`input`,{type:`radio`,name:`to`,value:e,checked:e===y,onChange:()=>S(e)}),s(C,{state:e,children:e})]},e))]}),y===`degraded`&&s(`label`,{children:[`Part that it still carries`,s(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:w,onInput:e=>T(e.currentTarget.value)})]}),s(`label`,{children:[`Why, kept with the change`,s(`input`,{name:`why`,required:!0,maxLength:$,pattern:`.*\\S.*`,title:`A reason`,autocomplete:`off`})]}),s(x,{viewer:h,most:$}),P.length>0&&(y!==`degraded`||L>0&&L<1)&&s(J,{things:P,to:y,factor:L,route:f}),I>16&&s(`label`,{children:[`This is about `,p(I),` chips: type their number`,s(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(I),title:String(I)})]}),F.length>0&&s(fe,{things:F,seen:l.current}),D&&!F.length&&s(`p`,{class:`failure`,role:`alert`,children:D})]}),s(`footer`,{children:[s(`span`,{class:`quiet`,children:[h?.name?`As ${h.name} · `:``,`every answer heeds it at once`]}),s(`button`,{type:`button`,onClick:()=>a.current?.close(),children:`Cancel`}),s(`button`,{type:`submit`,"data-writes":!0,class:y===`up`?`main`:`main ${y}`,disabled:k||!h||j.loading||!P.length||z,children:V(P,y)})]})]})})}function ue(e,t,n){if(!t.length)return`Nothing changed: ${B(e)} had been ${T(n)} already`;let r=t.filter(({after:e,thing:t})=>`state`in t&&t.state!==e).length,i=r?`; ${p(r)} not ${T(n)} before the server is`:``;return`${V(e,n).replace(`Set `,``)}${i}`}function de({things:e,places:t,set:n}){let[r,i]=u(!1),a=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return s(`div`,{class:`what`,children:[s(`h3`,{children:`What`}),s(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>s(`li`,{children:[s(`strong`,{children:h(e)}),` `,r&&s(C,{state:r}),t.length>1&&s(`button`,{type:`button`,class:`plain`,"aria-label":`Leave ${e} out`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&s(`li`,{class:`quiet`,children:[`and `,p(e.length-8),` more`]}),s(`li`,{children:r?s(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),a(e.currentTarget))},onBlur:e=>a(e.currentTarget)}):s(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function fe({things:e,seen:t}){return s(`div`,{class:`conflict`,role:`alert`,children:[s(`strong`,{children:`Changed since you opened this`}),s(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>s(`li`,{children:[s(w,{state:n}),` `,h(e),` was `,t.get(e)?.state,`, is `,T(n),` now`,r&&`, ${S(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),s(`label`,{children:[s(`input`,{type:`checkbox`,required:!0}),` Set it all the same`]},e.map(({lastChange:e})=>e?.event).join())]})}export{ce as open};